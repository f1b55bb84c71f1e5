import {
  CLAIMS_BYTES,
  DELIVERY_ID_BEGIN,
  linkSetOf,
  placeOf,
  type TrackingClaims,
  trackingClaimsOf,
} from '#platform';
import { AGENT_KINDS, type AgentKind } from './classification.js';

/** A request for a pixel or a tracked link. */
export interface WaitingRequest {
  readonly claims: TrackingClaims;
  readonly at: Date;
  readonly agent: AgentKind;
  /** True when it came before a person asked for it: HEAD, or a prefetch. */
  readonly isLookAhead: boolean;
}

const AT = CLAIMS_BYTES;
const AGENT = AT + 8;
const IS_LOOK_AHEAD = AGENT + 1;
const RECORD_BYTES = IS_LOOK_AHEAD + 1;

/** Requests in the order in which they came, 39 bytes each. */
export class RequestBlock {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(private readonly room: number) {
    this.#bytes = Buffer.allocUnsafeSlow(room * RECORD_BYTES);
  }

  get length(): number {
    return this.#length;
  }

  get isFull(): boolean {
    return this.#length === this.room;
  }

  /** `claims` are copied. */
  add(claims: Buffer, at: Date, agent: AgentKind, isLookAhead: boolean): void {
    const begin = this.#length * RECORD_BYTES;
    claims.copy(this.#bytes, begin, 0, CLAIMS_BYTES);
    this.#bytes.writeDoubleLE(at.getTime(), begin + AT);
    this.#bytes.writeUInt8(AGENT_KINDS.indexOf(agent), begin + AGENT);
    this.#bytes.writeUInt8(isLookAhead ? 1 : 0, begin + IS_LOOK_AHEAD);
    this.#length += 1;
  }

  clear(): void {
    this.#length = 0;
  }

  request(index: number): WaitingRequest {
    const begin = index * RECORD_BYTES;
    return {
      claims: trackingClaimsOf(this.#bytes.subarray(begin, begin + CLAIMS_BYTES)),
      at: new Date(this.at(index)),
      agent: this.agent(index),
      isLookAhead: this.isLookAhead(index),
    };
  }

  linkSet(index: number): number {
    return linkSetOf(this.#bytes, index * RECORD_BYTES);
  }

  place(index: number): number {
    return placeOf(this.#bytes, index * RECORD_BYTES);
  }

  /** ms since 1970. */
  at(index: number): number {
    return this.#bytes.readDoubleLE(index * RECORD_BYTES + AT);
  }

  agent(index: number): AgentKind {
    return AGENT_KINDS[this.#bytes.readUInt8(index * RECORD_BYTES + AGENT)] ?? 'other';
  }

  isLookAhead(index: number): boolean {
    return this.#bytes.readUInt8(index * RECORD_BYTES + IS_LOOK_AHEAD) === 1;
  }

  /** The bytes of all requests, and where those of this one's delivery id begin. */
  get bytes(): Buffer {
    return this.#bytes;
  }

  deliveryIdBegin(index: number): number {
    return index * RECORD_BYTES + DELIVERY_ID_BEGIN;
  }
}

/**
 * The requests that wait to be written, in blocks of bytes. As objects they would live just long enough for the collector of
 * young objects to copy each of them twice (bench/history/runs.md).
 */
export class WaitingRequestsService {
  readonly #blocks: RequestBlock[] = [];
  #spare: RequestBlock | undefined;
  #length = 0;

  constructor(private readonly blockSize: number) {}

  get length(): number {
    return this.#length;
  }

  /** `claims` are copied. */
  add(claims: Buffer, at: Date, agent: AgentKind, isLookAhead: boolean): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.isFull) {
      block = this.#spare ?? new RequestBlock(this.blockSize);
      this.#spare = undefined;
      this.#blocks.push(block);
    }
    block.add(claims, at, agent, isLookAhead);
    this.#length += 1;
  }

  /** The oldest of them, no more than a block has room for; undefined when there is none. */
  take(): RequestBlock | undefined {
    const block = this.#blocks.shift();
    this.#length -= block?.length ?? 0;
    return block;
  }

  /** Takes a block back that could not be written: it is the oldest again. */
  putBack(block: RequestBlock): void {
    this.#blocks.unshift(block);
    this.#length += block.length;
  }

  /** Takes a block back that is done with. */
  free(block: RequestBlock): void {
    block.clear();
    this.#spare = block;
  }
}
