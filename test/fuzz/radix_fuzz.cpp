// The radix tree against a plain map: random edits over a small alphabet, every lookup compared, and after every edit the
// shape that a tree built from scratch would have.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/router/radix_tree.hpp"

namespace {

struct Slot {
  int value = 0;
  bool empty() const noexcept { return value == 0; }
};
using Tree = sluice::router::RadixTree<Slot>;
using Model = std::map<std::pair<std::string, bool>, int>;

std::vector<int> expected(const Model& model, const std::string& text) {
  std::vector<int> out;
  if (auto e = model.find({text, true}); e != model.end()) out.push_back(e->second);
  for (std::size_t n = text.size() + 1; n-- > 0;)
    if (auto p = model.find({text.substr(0, n), false}); p != model.end()) out.push_back(p->second);
  return out;
}

std::vector<int> found(const Tree& tree, const std::string& text) {
  std::vector<int> out;
  tree.find(std::string_view(text), [&](const Slot& s) {
    out.push_back(s.value);
    return false;
  });
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Tree tree;
  Model model;
  int stamp = 0;
  for (std::size_t i = 0; i + 1 < size && i < 4000;) {
    const bool insert = (data[i] & 1) != 0, exact = (data[i] & 2) != 0;
    const std::size_t length = (data[i] >> 2) % 24;
    std::string key;
    for (++i; key.size() < length && i < size; ++i) key += "ab/c"[data[i] % 4];
    if (insert) {
      tree.at(key, exact).value = ++stamp;
      model[{key, exact}] = stamp;
    } else {
      if (Slot* slot = tree.find_slot(key, exact)) {
        slot->value = 0;
        tree.prune(key);
      }
      model.erase({key, exact});
    }
    if (!tree.canonical_for_test()) std::abort();
    if (found(tree, key) != expected(model, key)) std::abort();
    if (found(tree, key + "a/") != expected(model, key + "a/")) std::abort();
    if (tree.empty() != model.empty()) std::abort();
  }
  return 0;
}
