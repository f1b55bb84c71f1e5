/** What a relay says to a command that it does not know, or not here (RFC 5321 §4.2.4). */
const UNKNOWN_COMMAND = new Set([500, 501, 502, 503, 504]);

/** Whether BDAT is used where a relay offers it; given up for good when it refuses BDAT all the same. */
export class Chunking {
  #inUse: boolean;

  constructor(inUse: boolean) {
    this.#inUse = inUse;
  }

  get inUse(): boolean {
    return this.#inUse;
  }

  giveUp(): void {
    this.#inUse = false;
  }
}

export function isUnknownCommand(code: number): boolean {
  return UNKNOWN_COMMAND.has(code);
}
