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

/** What the consent record keeps beside a change, so that it can be shown to a regulator (GDPR Art. 7 (1)). */
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
  /** The Message-ID of the mail whose link was followed. */
  readonly messageId: string | null;
}

/** When consents change, and what the consent record keeps of it. */
export interface ConsentOccasion {
  readonly at: Date;
  readonly proof: ConsentProof;
}

/** What an actor tells of a change; what it leaves out is recorded as unknown. */
export type ConsentDetails = {
  readonly [Field in Exclude<keyof ConsentProof, 'actor' | 'actorId'>]?: ConsentProof[Field] | undefined;
};

/** Completes what an actor tells. */
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
  };
}
