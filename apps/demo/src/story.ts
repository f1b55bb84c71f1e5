export interface Topic {
  readonly id: string;
  readonly topicKey: string;
  readonly name: string;
}

/** Facts that earlier steps note for later ones. */
export interface Facts {
  doubleOptIn: Topic;
  singleOptIn: Topic;
  confirmUrl: string;
  messageId: string;
  unsubscribeUrl: string;
  firstCampaign: string;
  secondCampaign: string;
}

/** One run of the demo: its two subscribers, with new addresses each time, and the facts noted so far. */
export class Story {
  readonly ada: string;
  readonly grace: string;
  readonly #facts: Partial<Facts> = {};

  /** `runId` makes the addresses unique. */
  constructor(runId: string) {
    this.ada = `ada+${runId}@example.com`;
    this.grace = `grace+${runId}@example.com`;
  }

  note<Name extends keyof Facts>(name: Name, fact: Facts[Name]): void {
    this.#facts[name] = fact;
  }

  /** Throws when no earlier step has noted it. */
  fact<Name extends keyof Facts>(name: Name): Facts[Name] {
    const fact = this.#facts[name];
    if (fact === undefined) throw new Error(`No step has noted "${name}" yet.`);
    return fact;
  }
}
