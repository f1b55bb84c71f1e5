import type { CheckedRow } from './import.js';

/** Bytes of one COPY. A request holds two buffers of this size. */
const BATCH_BYTES = 512 * 1024;
/** Of UTF-8, for a unit of a JavaScript string. */
const MOST_BYTES = 3;

/** Its columns in the order of `copyLine`. */
export const STAGED_COLUMNS =
  'environment_id, import_id, row_number, line, email_key, cells, fault, email, first_name, last_name, phone, locale, time_zone, custom_fields';

/**
 * Buffers rows and sends them in batches: one buffer fills while the database receives the other. When both are full, the
 * client waits. The two buffers serve the whole file: new buffers for each batch, or rows kept as strings, would take far
 * more of Node's memory than their size.
 */
export class StagingWriter {
  #gathered = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #spare = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #length = 0;
  #rows = 0;
  #sent: Promise<{ readonly error: unknown } | null> = Promise.resolve(null);

  constructor(
    private readonly copy: (data: Buffer) => Promise<void>,
    private readonly environmentId: number,
    private readonly importId: string,
  ) {}

  /** The number of rows written. */
  get rows(): number {
    return this.#rows;
  }

  async write(rows: readonly CheckedRow[]): Promise<void> {
    for (const row of rows) {
      const line = copyLine(`${this.environmentId}\t${this.importId}`, row);
      this.#rows += 1;
      const most = line.length * MOST_BYTES;
      if (this.#length + most > BATCH_BYTES) await this.#sendGathered();
      if (most > BATCH_BYTES) await this.#send(Buffer.from(line));
      else this.#length += this.#gathered.write(line, this.#length);
    }
  }

  /** Resolves when the database has all rows. */
  async flush(): Promise<void> {
    await this.#sendGathered();
    await this.#settled();
  }

  /** Resolves when the database has finished with all sent rows, whether it succeeded or failed. */
  async abandon(): Promise<void> {
    await this.#sent;
  }

  async #sendGathered(): Promise<void> {
    if (this.#length === 0) return;
    await this.#send(this.#gathered.subarray(0, this.#length));
    [this.#gathered, this.#spare] = [this.#spare, this.#gathered];
    this.#length = 0;
  }

  /** When it resolves, what was sent before has arrived, and `data` is on its way. */
  async #send(data: Buffer): Promise<void> {
    await this.#settled();
    // The next caller gets the failure; until then it must not count as an unhandled rejection.
    this.#sent = this.copy(data).then(
      () => null,
      (error: unknown) => ({ error }),
    );
  }

  async #settled(): Promise<void> {
    const failure = await this.#sent;
    if (failure !== null) throw failure.error;
  }
}

/** COPY's text format: tabs between columns, `\N` for null, and a backslash before what would mean something. */
function copyLine(
  whose: string,
  { row, line: fileLine, emailKey, cells, fault, newSubscriber }: CheckedRow,
): string {
  const line = `${whose}\t${row}\t${fileLine ?? '\\N'}\t${shown(emailKey)}\t${shown(JSON.stringify(cells))}\t${shown(fault)}`;
  if (newSubscriber === null) return `${line}${'\t\\N'.repeat(7)}\n`;
  const { email, firstName, lastName, phone, locale, timeZone, customFields } = newSubscriber;
  const names = `${shown(email)}\t${shown(firstName)}\t${shown(lastName)}\t${shown(phone)}`;
  return `${line}\t${names}\t${shown(locale)}\t${shown(timeZone)}\t${shown(JSON.stringify(customFields))}\n`;
}

function shown(text: string | null): string {
  if (text === null) return '\\N';
  // Control characters do not occur: JSON escapes them, a fault has none, and where a field has some the row makes no subscriber.
  return text.includes('\\') ? text.replaceAll('\\', '\\\\') : text;
}
