export type ConsentActor =
  | 'API_KEY'
  | 'SUBSCRIBER_PAGE'
  | 'IMPORT'
  | 'ONE_CLICK'
  | 'COMPLAINT'
  | 'BOUNCE'
  | 'OPERATOR'
  | 'EXPIRY'
  | 'AUTOMATION';

/** In which language, and which version of the project's texts, null where they were ours, a person read what was agreed to. */
export interface ConsentWording {
  readonly locale: string;
  readonly version: number | null;
}

/** The proof of a change in the consent record, to show to a regulator (GDPR Art. 7 (1)). */
export interface ConsentProof {
  readonly actor: ConsentActor;
  /** The API key, confirmation or delivery through which the actor acted. */
  readonly actorId: string | null;
  readonly source: string | null;
  readonly sourceUrl: string | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  readonly consentText: string | null;
  readonly formVersion: string | null;
  /** The Message-ID of the mail with the link that the person used. */
  readonly messageId: string | null;
  /** Of the page on which the person agreed; null where that was not a page of ours. */
  readonly wording: ConsentWording | null;
}

/** The time and proof of a change. */
export interface ConsentOccasion {
  readonly at: Date;
  readonly proof: ConsentProof;
}

/** The proof as an actor gives it; missing parts are recorded as unknown. */
export type ConsentDetails = {
  readonly [Field in Exclude<keyof ConsentProof, 'actor' | 'actorId'>]?: ConsentProof[Field] | undefined;
};

/** Completes the proof of an actor. */
export function consentProof(
  actor: ConsentActor,
  actorId: string | null,
  details: ConsentDetails = {},
): ConsentProof {
  return {
    actor,
    actorId,
    source: details.source ?? null,
    sourceUrl: details.sourceUrl ?? null,
    ipAddress: details.ipAddress ?? null,
    userAgent: details.userAgent ?? null,
    consentText: details.consentText ?? null,
    formVersion: details.formVersion ?? null,
    messageId: details.messageId ?? null,
    wording: details.wording ?? null,
  };
}
