"""A DNS server of one page: A records of a table, and moods for outages."""
import socket
import struct
import threading


class DnsServer:
    MOODS = ("fine", "server_failure", "empty", "silent")

    def __init__(self, ttl=1):
        self.ttl = ttl
        self.zone = {}  # name -> list of IPv4 addresses
        self.mood = "fine"
        self.questions = 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                question, peer = self.socket.recvfrom(1500)
            except OSError:
                return
            reply = self._reply(question)
            if reply:
                self.socket.sendto(reply, peer)

    def _reply(self, question):
        self.questions += 1
        if self.mood == "silent" or len(question) < 17:
            return None
        labels, at = [], 12
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += question[at] + 1
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        known = self.zone.get(".".join(labels))
        addresses = known or []
        code = 0
        if self.mood == "server_failure":
            code = 2
        elif self.mood == "fine" and known is None:
            code = 3
        if self.mood != "fine" or kind != 1:
            addresses = []
        records = b"".join(struct.pack("!HHHIH", 0xC00C, 1, 1, self.ttl, 4) + socket.inet_aton(a) for a in addresses)
        head = question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(addresses), 0, 0)
        return head + question[12:at + 5] + records

    def stop(self):
        self.socket.close()
