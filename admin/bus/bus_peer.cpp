// See bus_peer.hpp.
#include "admin/bus/bus_peer.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace sluice::admin {

namespace asio = boost::asio;
namespace bus = live::bus;

namespace {
constexpr std::size_t kFramesPerWrite = 32;
constexpr std::size_t kLowWater = 2 * bus::kPartBytes;
}  // namespace

void BusPeer::close(const char* why) {
  if (closed_) return;
  const auto self = shared_from_this();
  abandon();
  owner_.on_gone(*this, why);
}

void BusPeer::abandon() noexcept {
  closed_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  snapshot_.reset();
  queue_.clear();
  behind_.clear();
}

void BusPeer::read() {
  socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](auto error, std::size_t n) {
    if (self->closed_) return;
    if (error) return self->close("disconnected");
    self->reader_.append({self->chunk_.data(), n});
    self->take_frames();
    if (!self->closed_) self->read();
  });
}

void BusPeer::take_frames() {
  bus::Frame frame;
  while (!closed_) {
    const auto status = reader_.next(frame);
    if (status == bus::FrameReader::Status::need_more) return;
    if (status == bus::FrameReader::Status::broken) return close(reader_.reason());
    auto message = bus::decode(frame);
    if (!message) return close("frame without a known meaning");
    owner_.on_message(*this, *message);
  }
}

bool BusPeer::send(Octets frame) {
  if (closed_) return false;
  if (queued_bytes_ + frame->size() > queue_bound_ && queued_bytes_ != 0) {
    overflowed_ = true;
    close("does not read what it is sent");
    return false;
  }
  queued_bytes_ += frame->size();
  (snapshot_ ? behind_ : queue_).push_back(std::move(frame));
  if (!writing_) write();
  return true;
}

void BusPeer::send_snapshot(bus::Position at, std::uint64_t revision, std::vector<Octets> objects) {
  send(bus::SnapshotBegin{at, revision, objects.size()});
  if (closed_) return;
  snapshot_ = Snapshot{at, std::move(objects), 0};
  pump_snapshot();
  if (!writing_) write();
}

void BusPeer::pump_snapshot() {
  std::size_t low = 0;
  for (const Octets& frame : queue_) low += frame->size();
  while (snapshot_ && low < kLowWater) {
    std::string frame;
    if (snapshot_->next == snapshot_->objects.size()) {
      frame = bus::encode(bus::SnapshotEnd{snapshot_->at, snapshot_->objects.size()});
      snapshot_.reset();
    } else {
      std::vector<std::string_view> views;
      std::size_t bytes = 0;
      while (snapshot_->next < snapshot_->objects.size() && (views.empty() || bytes < bus::kPartBytes)) {
        views.push_back(*snapshot_->objects[snapshot_->next++]);
        bytes += views.back().size();
      }
      frame = bus::encode_snapshot_part(views);
    }
    low += frame.size();
    queued_bytes_ += frame.size();
    queue_.push_back(std::make_shared<const std::string>(std::move(frame)));
  }
  if (!snapshot_) {
    for (Octets& frame : behind_) queue_.push_back(std::move(frame));
    behind_.clear();
  }
}

void BusPeer::write() {
  if (snapshot_) pump_snapshot();
  if (closed_ || queue_.empty()) return;
  writing_ = true;
  in_flight_.clear();
  std::vector<asio::const_buffer> buffers;
  while (!queue_.empty() && in_flight_.size() < kFramesPerWrite) {
    in_flight_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    buffers.push_back(asio::buffer(*in_flight_.back()));
  }
  asio::async_write(socket_, buffers, [self = shared_from_this()](auto error, std::size_t n) {
    self->writing_ = false;
    if (self->closed_) return;
    if (error) return self->close("disconnected");
    self->queued_bytes_ -= n;
    self->in_flight_.clear();
    self->write();
  });
}

}  // namespace sluice::admin
