// RadixTree: texts to slots, edited in place, found without allocation.
//
// The idea: each node holds the octets that lead to it from its parent and two slots: one for keys that must equal the
// text looked up ("exact"), one for keys that need only begin it ("prefix"). A lookup walks down as far as the text
// agrees, tries the exact slot where the text ends, then climbs back to the root over the prefix slots: longest first.
//
// Invariant (canonical form): every node but the root has a filled slot or at least two children; children are sorted by
// their first octet. So the shape depends on the keys alone, never on the order of edits: after any sequence of inserts
// and erases the tree equals one that was built from scratch.
//
// Cost of an edit: O(length of the key) plus one copy of a node's child table. Slot must be default constructible and
// movable and have empty(). Single-threaded.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sluice::router {

// A text read from its end: wildcard hosts are prefixes of the reversed name.
class Reversed {
 public:
  explicit constexpr Reversed(std::string_view text) noexcept : text_(text) {}
  constexpr std::size_t size() const noexcept { return text_.size(); }
  constexpr char operator[](std::size_t i) const noexcept { return text_[text_.size() - 1 - i]; }

 private:
  std::string_view text_;
};

namespace detail {
// The octets on the way into a node: in place up to 12.
class Label {
 public:
  Label() = default;
  explicit Label(std::string_view text) { assign(text); }
  Label(Label&& other) noexcept : size_(std::exchange(other.size_, 0)) {
    std::memcpy(near_, other.near_, sizeof near_);
  }
  Label& operator=(Label&& other) noexcept {
    std::swap(size_, other.size_);
    char keep[kNear];
    std::memcpy(keep, near_, kNear);
    std::memcpy(near_, other.near_, kNear);
    std::memcpy(other.near_, keep, kNear);
    return *this;
  }
  ~Label() {
    if (size_ > kNear) std::free(far());
  }
  std::string_view view() const noexcept { return {size_ > kNear ? far() : near_, size_}; }
  std::size_t heap_bytes() const noexcept { return size_ > kNear ? size_ : 0; }

 private:
  static constexpr std::uint32_t kNear = 12;
  void assign(std::string_view text) {
    size_ = static_cast<std::uint32_t>(text.size());
    if (size_ <= kNear) {
      std::memcpy(near_, text.data(), size_);
      return;
    }
    char* p = static_cast<char*>(std::malloc(size_));
    if (p == nullptr) throw std::bad_alloc();
    std::memcpy(p, text.data(), size_);
    std::memcpy(near_, &p, sizeof p);
  }
  char* far() const noexcept {
    char* p;
    std::memcpy(&p, near_, sizeof p);
    return p;
  }

  std::uint32_t size_ = 0;
  char near_[kNear] = {};
};
}  // namespace detail

template <class Slot>
class RadixTree {
 public:
  RadixTree() = default;
  RadixTree(const RadixTree&) = delete;
  RadixTree& operator=(const RadixTree&) = delete;
  ~RadixTree() { free_children(root_); }

  // The slot of a key, made when it is not there. The caller fills it before the next edit.
  Slot& at(std::string_view key, bool exact);
  // nullptr when the key has no node.
  Slot* find_slot(std::string_view key, bool exact) noexcept;
  // After the slot of a key has been emptied: takes out nodes that are no longer needed.
  void prune(std::string_view key) noexcept;

  // Slots for `text` in order: exact, then prefixes from the longest down, until visit(slot) returns true. Returns
  // whether one did. Text: std::string_view or Reversed.
  template <class Text, class Visit>
  bool find(const Text& text, Visit&& visit) const noexcept;

  bool empty() const noexcept { return root_.children == nullptr && root_.exact.empty() && root_.prefix.empty(); }
  std::size_t nodes() const noexcept { return nodes_; }      // without the root
  std::size_t bytes() const noexcept { return bytes_of(root_); }
  // Every filled slot, keys in ascending order, exact before prefix.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::string key;
    walk(root_, key, visit);
  }
  // For tests: whether the canonical form holds everywhere.
  bool canonical_for_test() const noexcept { return canonical(root_, true); }

 private:
  struct Node;
  // First octets, sorted, and the nodes they lead to, in one block.
  struct Children {
    std::uint32_t count;
    Node** nodes() noexcept { return reinterpret_cast<Node**>(this + 1); }
    Node* const* nodes() const noexcept { return reinterpret_cast<Node* const*>(this + 1); }
    unsigned char* octets() noexcept { return reinterpret_cast<unsigned char*>(nodes() + count); }
    const unsigned char* octets() const noexcept { return reinterpret_cast<const unsigned char*>(nodes() + count); }
    static std::size_t bytes(std::uint32_t count) noexcept { return sizeof(Children) + count * (sizeof(Node*) + 1); }
    static Children* make(std::uint32_t count) {
      auto* c = static_cast<Children*>(std::malloc(bytes(count)));
      if (c == nullptr) throw std::bad_alloc();
      c->count = count;
      return c;
    }
    std::uint32_t padding_ = 0;
  };
  static_assert(sizeof(Children) == 8);
  struct Node {
    Node* parent = nullptr;
    Children* children = nullptr;
    detail::Label label;
    Slot exact{};
    Slot prefix{};
    ~Node() { std::free(children); }
    std::uint32_t fanout() const noexcept { return children ? children->count : 0; }
    bool filled() const noexcept { return !exact.empty() || !prefix.empty(); }
    Node** child_place(char c) const noexcept {
      if (children == nullptr) return nullptr;
      const auto* octets = children->octets();
      const auto* hit = static_cast<const unsigned char*>(
          std::memchr(octets, static_cast<unsigned char>(c), children->count));
      return hit ? children->nodes() + (hit - octets) : nullptr;
    }
  };

  Node* locate(std::string_view key) noexcept;
  Node* split(Node** place, std::size_t at);
  static void add_child(Node& parent, Node* child);
  static void remove_child(Node& parent, char octet) noexcept;
  void merge_only_child(Node* node) noexcept;
  static void free_children(Node& node) noexcept;
  static std::size_t bytes_of(const Node& node) noexcept;
  static bool canonical(const Node& node, bool root) noexcept;
  template <class Visit>
  static void walk(const Node& node, std::string& key, Visit& visit);

  Node root_;
  std::size_t nodes_ = 0;
};

template <class Slot>
void RadixTree<Slot>::add_child(Node& parent, Node* child) {
  const auto octet = static_cast<unsigned char>(child->label.view().front());
  const std::uint32_t n = parent.fanout();
  Children* grown = Children::make(n + 1);
  std::uint32_t i = 0;
  for (; i < n && parent.children->octets()[i] < octet; ++i) {
    grown->octets()[i] = parent.children->octets()[i];
    grown->nodes()[i] = parent.children->nodes()[i];
  }
  grown->octets()[i] = octet;
  grown->nodes()[i] = child;
  for (; i < n; ++i) {
    grown->octets()[i + 1] = parent.children->octets()[i];
    grown->nodes()[i + 1] = parent.children->nodes()[i];
  }
  std::free(parent.children);
  parent.children = grown;
  child->parent = &parent;
}

template <class Slot>
void RadixTree<Slot>::remove_child(Node& parent, char octet) noexcept {
  Children* old = parent.children;
  const std::uint32_t n = old->count;
  if (n == 1) {
    std::free(old);
    parent.children = nullptr;
    return;
  }
  Children* fewer = Children::make(n - 1);
  std::uint32_t to = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (old->octets()[i] == static_cast<unsigned char>(octet)) continue;
    fewer->octets()[to] = old->octets()[i];
    fewer->nodes()[to] = old->nodes()[i];
    ++to;
  }
  std::free(old);
  parent.children = fewer;
}

// The node at *place is cut after `at` octets of its label; returns the new upper part.
template <class Slot>
auto RadixTree<Slot>::split(Node** place, std::size_t at) -> Node* {
  Node* lower = *place;
  const std::string label(lower->label.view());
  Node* upper = new Node;
  upper->label = detail::Label(std::string_view(label).substr(0, at));
  upper->parent = lower->parent;
  lower->label = detail::Label(std::string_view(label).substr(at));
  add_child(*upper, lower);
  *place = upper;
  ++nodes_;
  return upper;
}

template <class Slot>
Slot& RadixTree<Slot>::at(std::string_view key, bool exact) {
  Node* node = &root_;
  std::string_view rest = key;
  while (!rest.empty()) {
    Node** place = node->child_place(rest.front());
    if (place == nullptr) {
      Node* leaf = new Node;
      leaf->label = detail::Label(rest);
      add_child(*node, leaf);
      ++nodes_;
      node = leaf;
      break;
    }
    const std::string_view label = (*place)->label.view();
    std::size_t common = 1;
    while (common < label.size() && common < rest.size() && label[common] == rest[common]) ++common;
    node = common < label.size() ? split(place, common) : *place;
    rest.remove_prefix(common);
  }
  return exact ? node->exact : node->prefix;
}

template <class Slot>
auto RadixTree<Slot>::locate(std::string_view key) noexcept -> Node* {
  Node* node = &root_;
  while (!key.empty()) {
    Node** place = node->child_place(key.front());
    if (place == nullptr || !key.starts_with((*place)->label.view())) return nullptr;
    node = *place;
    key.remove_prefix(node->label.view().size());
  }
  return node;
}

template <class Slot>
Slot* RadixTree<Slot>::find_slot(std::string_view key, bool exact) noexcept {
  Node* node = locate(key);
  return node == nullptr ? nullptr : exact ? &node->exact : &node->prefix;
}

template <class Slot>
void RadixTree<Slot>::prune(std::string_view key) noexcept {
  Node* node = locate(key);
  if (node == nullptr || node == &root_ || node->filled()) return;
  if (node->fanout() > 1) return;
  if (node->fanout() == 1) {
    merge_only_child(node);
    return;
  }
  Node* parent = node->parent;
  remove_child(*parent, node->label.view().front());
  delete node;
  --nodes_;
  if (parent != &root_ && !parent->filled() && parent->fanout() == 1) merge_only_child(parent);
}

// An unfilled node with one child: the child takes over its place, with both labels.
template <class Slot>
void RadixTree<Slot>::merge_only_child(Node* node) noexcept {
  Node* child = node->children->nodes()[0];
  std::string label(node->label.view());
  label += child->label.view();
  child->label = detail::Label(label);
  child->parent = node->parent;
  *node->parent->child_place(label.front()) = child;
  delete node;
  --nodes_;
}

template <class Slot>
template <class Text, class Visit>
bool RadixTree<Slot>::find(const Text& text, Visit&& visit) const noexcept {
  const Node* node = &root_;
  const std::size_t size = text.size();
  std::size_t i = 0;
  while (i < size) {
    Node* const* place = node->child_place(text[i]);
    if (place == nullptr) break;
    const std::string_view label = (*place)->label.view();
    if (label.size() > size - i) break;
    if constexpr (std::is_same_v<Text, std::string_view>) {
      if (std::memcmp(label.data(), text.data() + i, label.size()) != 0) break;
    } else {
      std::size_t same = 1;
      while (same < label.size() && label[same] == text[i + same]) ++same;
      if (same < label.size()) break;
    }
    node = *place;
    i += label.size();
  }
  if (i == size && !node->exact.empty() && visit(node->exact)) return true;
  for (; node != nullptr; node = node->parent)
    if (!node->prefix.empty() && visit(node->prefix)) return true;
  return false;
}

// Depth is bounded by the length of a key (4 KiB), so the recursions below are bounded too.
template <class Slot>
void RadixTree<Slot>::free_children(Node& node) noexcept {
  for (std::uint32_t i = 0; i < node.fanout(); ++i) {
    Node* child = node.children->nodes()[i];
    free_children(*child);
    delete child;
  }
}

template <class Slot>
std::size_t RadixTree<Slot>::bytes_of(const Node& node) noexcept {
  std::size_t sum = sizeof(Node) + node.label.heap_bytes();
  if (node.children) sum += Children::bytes(node.children->count);
  for (std::uint32_t i = 0; i < node.fanout(); ++i) sum += bytes_of(*node.children->nodes()[i]);
  return sum;
}

template <class Slot>
bool RadixTree<Slot>::canonical(const Node& node, bool root) noexcept {
  if (!root && (node.label.view().empty() || (!node.filled() && node.fanout() < 2))) return false;
  for (std::uint32_t i = 0; i < node.fanout(); ++i) {
    const Node* child = node.children->nodes()[i];
    if (child->parent != &node) return false;
    if (static_cast<unsigned char>(child->label.view().front()) != node.children->octets()[i]) return false;
    if (i > 0 && node.children->octets()[i - 1] >= node.children->octets()[i]) return false;
    if (!canonical(*child, false)) return false;
  }
  return true;
}

template <class Slot>
template <class Visit>
void RadixTree<Slot>::walk(const Node& node, std::string& key, Visit& visit) {
  const std::size_t before = key.size();
  key += node.label.view();
  if (!node.exact.empty()) visit(std::string_view(key), true, node.exact);
  if (!node.prefix.empty()) visit(std::string_view(key), false, node.prefix);
  for (std::uint32_t i = 0; i < node.fanout(); ++i) walk(*node.children->nodes()[i], key, visit);
  key.resize(before);
}

}  // namespace sluice::router
