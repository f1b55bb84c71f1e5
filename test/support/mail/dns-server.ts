import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket as TcpSocket } from 'node:net';
import { type Answer, decode, encode, type Packet, streamEncode, TRUNCATED_RESPONSE } from 'dns-packet';

const AUTHORITATIVE = 0x0400;
const RCODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const CLASSIC_UDP_BYTES = 512;
const PORTS_TRIED = 5;

/** Faults of a name; `truncated` answers UDP with TC, so that one has to ask again by TCP (RFC 2181 §9). */
export type DnsFault = 'SERVFAIL' | 'REFUSED' | 'silence' | 'lame' | 'truncated';

interface Question {
  readonly name: string;
  readonly type: string;
}

/** An authoritative DNS server on loopback, over UDP and TCP, for zones that a test writes. */
export interface DnsServer {
  /** For `DNS_SERVERS`. */
  readonly address: string;
  /** All questions so far, as `UDP TXT example.com`. */
  readonly questions: readonly string[];
  /** Each array is one record's strings; a text alone is split where it must be. */
  txt(host: string, ...records: readonly (string | readonly string[])[]): void;
  mx(host: string, ...records: readonly { readonly preference: number; readonly exchange: string }[]): void;
  a(host: string, ...addresses: readonly string[]): void;
  /** Answers with the alias alone, or `complete` with what it leads to, as a recursive server does. */
  cname(host: string, target: string, how?: 'complete'): void;
  /** Takes away what a host has. */
  remove(host: string, type?: 'TXT' | 'MX' | 'A' | 'CNAME'): void;
  /** From now on every question for this name, or for all names, ends so; null ends that. */
  fail(fault: DnsFault | null, host?: string): void;
  stop(): Promise<void>;
}

/** Starts the server on ephemeral ports, the same one for UDP and TCP. */
export async function startDnsServer(): Promise<DnsServer> {
  const zone = new Zone();
  const { tcp, udp, port } = await bindBoth((socket) => serveTcp(socket, zone));
  udp.on('message', (message, peer) => {
    const reply = zone.reply(message, 'UDP');
    if (reply !== null) udp.send(reply, peer.port, peer.address);
  });
  return Object.assign(zone, {
    address: `127.0.0.1:${port}`,
    stop: async () => {
      zone.stopConnections();
      const closed = [once(udp, 'close'), once(tcp, 'close')];
      udp.close();
      tcp.close();
      await Promise.all(closed);
    },
  });
}

interface BothProtocols {
  readonly tcp: Server;
  readonly udp: Socket;
  readonly port: number;
}

/** A port that is free for TCP may be taken for UDP, as by somebody who asks a name server: then another one. */
async function bindBoth(serve: (socket: TcpSocket) => void): Promise<BothProtocols> {
  for (let left = PORTS_TRIED; ; left -= 1) {
    const tcp = createServer(serve).listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const udp = createSocket('udp4');
    try {
      udp.bind(port, '127.0.0.1');
      await once(udp, 'listening');
      return { tcp, udp, port };
    } catch (error) {
      udp.close();
      tcp.close();
      if (left === 1) throw error;
    }
  }
}

function serveTcp(socket: TcpSocket, zone: Zone): void {
  let received = Buffer.alloc(0);
  zone.connections.add(socket);
  socket.on('close', () => zone.connections.delete(socket));
  socket.on('error', () => undefined);
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= 2 && received.length >= received.readUInt16BE(0) + 2) {
      const end = received.readUInt16BE(0) + 2;
      const reply = zone.reply(received.subarray(2, end), 'TCP');
      received = received.subarray(end);
      if (reply !== null) socket.write(reply);
    }
  });
}

class Zone {
  readonly questions: string[] = [];
  readonly connections = new Set<TcpSocket>();
  readonly #records = new Map<string, Answer[]>();
  readonly #complete = new Set<string>();
  readonly #faults = new Map<string, DnsFault>();

  txt(host: string, ...records: readonly (string | readonly string[])[]): void {
    this.#set(
      host,
      'TXT',
      records.map((strings) => ({
        ...entry(host),
        type: 'TXT',
        data: typeof strings === 'string' ? splitText(strings) : [...strings],
      })),
    );
  }

  mx(host: string, ...records: readonly { readonly preference: number; readonly exchange: string }[]): void {
    this.#set(
      host,
      'MX',
      records.map((data) => ({ ...entry(host), type: 'MX', data })),
    );
  }

  a(host: string, ...addresses: readonly string[]): void {
    this.#set(
      host,
      'A',
      addresses.map((data) => ({ ...entry(host), type: 'A', data })),
    );
  }

  cname(host: string, target: string, how?: 'complete'): void {
    if (how === 'complete') this.#complete.add(host.toLowerCase());
    this.#set(host, 'CNAME', [{ ...entry(host), type: 'CNAME', data: target }]);
  }

  remove(host: string, type?: 'TXT' | 'MX' | 'A' | 'CNAME'): void {
    for (const each of type === undefined ? (['TXT', 'MX', 'A', 'CNAME'] as const) : [type])
      this.#records.delete(`${each} ${host}`);
  }

  fail(fault: DnsFault | null, host = '*'): void {
    if (fault === null) this.#faults.delete(host);
    else this.#faults.set(host, fault);
  }

  stopConnections(): void {
    for (const connection of this.connections) connection.destroy();
  }

  /** Null: says nothing. */
  reply(message: Buffer, protocol: 'UDP' | 'TCP'): Buffer | null {
    const query = decode(message);
    const question = query.questions?.[0];
    if (question === undefined) return null;
    const name = question.name.toLowerCase();
    this.questions.push(`${protocol} ${question.type} ${name}`);
    const fault = this.#faults.get(name) ?? this.#faults.get('*');
    if (fault === 'silence') return null;
    const packet = this.#packet(query, { name, type: question.type }, fault);
    if (protocol === 'TCP') return streamEncode(packet);
    const bytes = encode(packet);
    const isTooLong =
      bytes.length > CLASSIC_UDP_BYTES && !query.additionals?.some(({ type }) => type === 'OPT');
    if (fault !== 'truncated' && !isTooLong) return bytes;
    return encode({ ...packet, answers: [], flags: (packet.flags ?? 0) | TRUNCATED_RESPONSE });
  }

  #packet(query: Packet, question: Question, fault: DnsFault | undefined): Packet {
    const recursion = (query.flags ?? 0) & 0x0100;
    const reply = { type: 'response' as const, id: query.id ?? 0, questions: query.questions ?? [] };
    if (fault === 'SERVFAIL' || fault === 'REFUSED') return { ...reply, flags: recursion | RCODES[fault] };
    // Not authoritative, and a referral upwards instead of an answer (RFC 8499 §7, "lame delegation").
    if (fault === 'lame') {
      const authorities: Answer[] = [{ name: '.', type: 'NS', ttl: 0, data: 'a.root-servers.net' }];
      return { ...reply, flags: recursion, authorities };
    }
    const answers = this.#answers(question);
    const rcode = answers.length > 0 || this.#knows(question.name) ? 0 : RCODES.NXDOMAIN;
    return { ...reply, flags: recursion | AUTHORITATIVE | rcode, answers };
  }

  #answers({ name, type }: Question): Answer[] {
    const own = this.#records.get(`${type} ${name}`);
    if (own !== undefined) return own;
    const alias = this.#records.get(`CNAME ${name}`)?.[0];
    if (alias?.type !== 'CNAME') return [];
    const rest =
      this.#complete.has(name) && type !== 'CNAME' ? this.#answers({ name: alias.data, type }) : [];
    return [alias, ...rest];
  }

  /** Also the empty names above others (RFC 8020). */
  #knows(name: string): boolean {
    return [...this.#records.keys()].some((key) => key.endsWith(` ${name}`) || key.endsWith(`.${name}`));
  }

  #set(host: string, type: string, answers: Answer[]): void {
    this.#records.set(`${type} ${host.toLowerCase()}`, answers);
  }
}

function entry(name: string): { readonly name: string; readonly ttl: number; readonly class: 'IN' } {
  return { name, ttl: 0, class: 'IN' };
}

/** RFC 1035 §3.3: a string has 255 bytes at most. */
function splitText(text: string): string[] {
  return text.match(/.{1,255}/gs) ?? [''];
}
