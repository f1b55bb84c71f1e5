/** A mail server that nobody here wrote, on 127.0.0.1, which hands on what it takes. */
export interface Mta {
  /** For `SMTP_URL`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Where it hands mail on to: ports of 127.0.0.1. */
export interface NextHops {
  readonly everywhere: number;
  /** By the recipient's domain, for those that go elsewhere. */
  readonly byDomain: Readonly<Record<string, number>>;
}
