// Ref<T>: shared ownership inside one single-threaded process, without atomics.
//
// Compiled routes, upstreams and consumers are immutable once published; an exchange holds those it uses until its log
// phase has run, whatever the configuration does meanwhile.
#pragma once

#include <cstdint>
#include <utility>

namespace sluice::sdk {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  mutable std::uint32_t references_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) noexcept : object_(object) { acquire(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { acquire(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(const Ref<U>& other) noexcept : object_(other.get()) { acquire(); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { release(); }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept { Ref().swap(*this); }
  void swap(Ref& other) noexcept { std::swap(object_, other.object_); }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  void acquire() noexcept {
    if (object_) ++static_cast<const RefCounted*>(object_)->references_;
  }
  void release() noexcept {
    if (object_ && --static_cast<const RefCounted*>(object_)->references_ == 0) delete object_;
    object_ = nullptr;
  }
  T* object_ = nullptr;
};

template <class T, class... A>
Ref<T> make_ref(A&&... args) {
  return Ref<T>(new T(std::forward<A>(args)...));
}

}  // namespace sluice::sdk
