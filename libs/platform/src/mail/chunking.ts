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
