/** Types of a fixed width, by the numbers that PostgreSQL has for them (pg_type.dat). */
const TYPES = {
  int4: { oid: 23, width: 4 },
  timestamptz: { oid: 1184, width: 8 },
  uuid: { oid: 2950, width: 16 },
} as const;

/** Dimensions, whether there are nulls, the type of the elements, how many there are, the number of the first. */
const HEADER_BYTES = 20;
const LENGTH_AT = 12;
const ELEMENT_LENGTH_BYTES = 4;

const EPOCH_MS = Date.UTC(2000, 0, 1);
const MICROSECONDS = 1_000;
const WORD = 2 ** 32;

/** An array in PostgreSQL's binary form (`array_recv`), made and read without a string or an object for each element. */
export class ArrayColumn {
  readonly #bytes: Buffer;
  readonly #width: number;
  #length = 0;

  constructor(type: keyof typeof TYPES, room: number) {
    const { oid, width } = TYPES[type];
    this.#width = width;
    this.#bytes = Buffer.allocUnsafeSlow(HEADER_BYTES + room * (ELEMENT_LENGTH_BYTES + width));
    this.#bytes.writeInt32BE(1, 0);
    this.#bytes.writeInt32BE(0, 4);
    this.#bytes.writeInt32BE(oid, 8);
    this.#bytes.writeInt32BE(1, 16);
  }

  /** The bytes to send. */
  get bytes(): Buffer {
    this.#bytes.writeInt32BE(this.#length, LENGTH_AT);
    return this.#bytes.subarray(0, this.#next());
  }

  addInt4(value: number): void {
    this.#bytes.writeInt32BE(value, this.#add());
  }

  /** `ms` since 1970. PostgreSQL counts microseconds from 2000 on, which is exact here from 1715 until 2285. */
  addTimestamp(ms: number): void {
    const microseconds = (ms - EPOCH_MS) * MICROSECONDS;
    const at = this.#add();
    this.#bytes.writeInt32BE(Math.floor(microseconds / WORD), at);
    this.#bytes.writeUInt32BE(microseconds - Math.floor(microseconds / WORD) * WORD, at + 4);
  }

  /** The 16 bytes of `source` from `begin` on. */
  addUuid(source: Buffer, begin: number): void {
    source.copy(this.#bytes, this.#add(), begin, begin + this.#width);
  }

  #next(): number {
    return HEADER_BYTES + this.#length * (ELEMENT_LENGTH_BYTES + this.#width);
  }

  /** Makes room for one more element; its beginning. */
  #add(): number {
    const at = this.#next();
    this.#bytes.writeInt32BE(this.#width, at);
    this.#length += 1;
    return at + ELEMENT_LENGTH_BYTES;
  }
}
