import type { ArrivedRow } from './import.js';

/** Bytes of one COPY: what a request holds of its rows, twice. */
const BATCH_BYTES = 512 * 1024;

/** Its columns in the order of `copyLine`. */
export const STAGED_COLUMNS =
  'import_id, row_number, email_key, cells, fault, email, first_name, last_name, phone, custom_fields';

/**
 * Gathers rows and sends them in batches: while the database takes one, the next is gathered. When that is full
 * first, it waits, and so makes the client wait.
 */
export class StagingWriter {
  #lines: string[] = [];
  #length = 0;
  #rows = 0;
  #sent: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly copy: (data: Buffer) => Promise<void>,
    private readonly importId: string,
  ) {}

  /** How many rows it took. */
  get rows(): number {
    return this.#rows;
  }

  async write(rows: readonly ArrivedRow[]): Promise<void> {
    for (const row of rows) {
      const line = copyLine(this.importId, row);
      this.#lines.push(line);
      this.#length += line.length;
      this.#rows += 1;
      if (this.#length > BATCH_BYTES) await this.#send();
    }
  }

  /** Resolves when the database has all rows. */
  async flush(): Promise<void> {
    await this.#send();
    await this.#settled();
  }

  /** Resolves when the database is done with what it was sent, well or badly. */
  async abandon(): Promise<void> {
    await this.#sent;
  }

  async #send(): Promise<void> {
    await this.#settled();
    if (this.#lines.length === 0) return;
    const data = Buffer.from(this.#lines.join(''));
    this.#lines = [];
    this.#length = 0;
    // A failure is told to the next who asks; until then it must not count as unhandled.
    this.#sent = this.copy(data).catch((error: unknown) => ({ error }));
  }

  async #settled(): Promise<void> {
    const failure = (await this.#sent) as { readonly error: unknown } | undefined;
    if (failure !== undefined) throw failure.error;
  }
}

/** COPY's text format: tabs between columns, `\N` for null, and a backslash before what would mean something. */
function copyLine(importId: string, { row, emailKey, cells, fault, newcomer }: ArrivedRow): string {
  const line = `${importId}\t${row}\t${shown(emailKey)}\t${shown(JSON.stringify(cells))}\t${shown(fault)}`;
  if (newcomer === null) return `${line}\t\\N\t\\N\t\\N\t\\N\t\\N\n`;
  const { email, firstName, lastName, phone, customFields } = newcomer;
  return `${line}\t${shown(email)}\t${shown(firstName)}\t${shown(lastName)}\t${shown(phone)}\t${shown(JSON.stringify(customFields))}\n`;
}

function shown(text: string | null): string {
  if (text === null) return '\\N';
  // Control characters do not occur: JSON escapes them, a fault has none, and where a field has some there is no newcomer.
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
}
