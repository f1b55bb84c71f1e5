import { defineEvent } from '#kernel';

/** A confirmation mail for the topics of one request has to be sent. */
export const ConfirmationRequested = defineEvent<{ confirmationId: string }>(
  'audience.confirmation_requested.v1',
);

/** The same of many: what an import asks for at once. A mail for each. */
export const ConfirmationsRequested = defineEvent<{ confirmationIds: readonly string[] }>(
  'audience.confirmations_requested.v1',
);
