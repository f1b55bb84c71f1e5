/** A mail server that nobody here wrote, on 127.0.0.1, which hands on what it takes. */
export interface Mta {
  /** For `SMTP_URL`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Ports of 127.0.0.1 to which it hands mail on. */
export interface NextHops {
  readonly everywhere: number;
  /** Exceptions, by the recipient's domain. */
  readonly byDomain: Readonly<Record<string, number>>;
}
