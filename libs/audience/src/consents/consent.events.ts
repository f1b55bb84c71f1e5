import { defineEvent } from '#kernel';

/** A confirmation mail is to be sent for the topics of one request. */
export const ConfirmationRequested = defineEvent<{ confirmationId: string }>(
  'audience.confirmation_requested.v1',
);
