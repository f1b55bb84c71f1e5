import { forwardPort } from '../servers/forwarded-port.js';

/** A transaction as its messages: the statements of each, by their names, or else by their first words. */
export type SentTransaction = readonly (readonly string[])[];

/** The way of programs to PostgreSQL, on which one can see what they send. */
export interface PostgresWire {
  readonly url: string;
  /**
   * Transactions since the last call that ended with COMMIT or ROLLBACK, in the order of their ends. Without look-ups by a single
   * statement, each of which is a transaction on Citus, too, and alone ends by a COMMIT that is not prepared.
   */
  transactions(): readonly SentTransaction[];
  close(): Promise<void>;
}

/** One connection's messages (PostgreSQL's manual, "Message Formats"): the program waits for an answer after each. */
class SentMessages {
  #bytes = Buffer.alloc(0);
  #isStarted = false;
  readonly #prepared = new Map<string, string>();
  #statements: string[] = [];
  #transaction: string[][] | undefined;

  constructor(private readonly ended: (transaction: SentTransaction) => void) {}

  take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      // The first message has no type.
      const head = this.#isStarted ? 1 : 0;
      if (this.#bytes.length < head + 4) return;
      const end = head + this.#bytes.readUInt32BE(head);
      if (this.#bytes.length < end) return;
      if (this.#isStarted) this.#message(String.fromCharCode(this.#bytes[0]!), this.#bytes.subarray(5, end));
      this.#isStarted = true;
      this.#bytes = this.#bytes.subarray(end);
    }
  }

  #message(type: string, body: Buffer): void {
    const texts = body.toString('latin1').split('\0');
    if (type === 'P') this.#prepared.set(texts[0]!, texts[0]! || firstWords(texts[1]!));
    // The first text of a Bind is its portal, which has no name.
    else if (type === 'B') this.#statements.push(this.#prepared.get(texts[1]!) ?? texts[1]!);
    else if (type === 'Q') this.#roundTrip([firstWords(texts[0]!)], false);
    else if (type === 'S') this.#roundTrip(this.#statements, true);
  }

  #roundTrip(statements: string[], isPrepared: boolean): void {
    this.#statements = [];
    if (statements.some((statement) => statement.startsWith('begin'))) this.#transaction = [];
    this.#transaction?.push(statements);
    if (this.#transaction === undefined || !/^(commit|rollback)/.test(statements.at(-1) ?? '')) return;
    const isLookUp = !isPrepared && statements[0] === 'commit';
    if (!isLookUp) this.ended(this.#transaction);
    this.#transaction = undefined;
  }
}

const firstWords = (text: string): string => text.trim().split(/\s+/).slice(0, 3).join(' ');

export async function watchPostgres(url: string): Promise<PostgresWire> {
  let transactions: SentTransaction[] = [];
  const forwarded = await forwardPort(new URL(url), () => {
    const sent = new SentMessages((transaction) => transactions.push(transaction));
    return (bytes) => sent.take(bytes);
  });
  const watched = new URL(url);
  watched.port = String(forwarded.port);
  return {
    url: watched.href,
    transactions: () => {
      const told = transactions;
      transactions = [];
      return told;
    },
    close: () => forwarded.cut(),
  };
}
