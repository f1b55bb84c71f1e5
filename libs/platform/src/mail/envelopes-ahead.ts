/** Whether a relay gets the next envelope with a message, as RFC 2920 §3.1 allows: until it is found to mind. */
export class EnvelopesAhead {
  #isTaken = false;
  #isMinded = false;

  get areInUse(): boolean {
    return !this.#isMinded;
  }

  /** It took a message whose envelope had left ahead. */
  taken(): void {
    this.#isTaken = true;
  }

  /** It refused what it took when it came alone. */
  minded(): void {
    this.#isMinded = true;
  }

  /** It never answered a message that an envelope followed. Once it is known to take them, that has other reasons. */
  lost(): void {
    if (!this.#isTaken) this.#isMinded = true;
  }
}
