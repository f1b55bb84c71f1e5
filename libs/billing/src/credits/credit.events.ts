import { defineEvent } from '#kernel';

/** A tenant has too few AI credits for what it asked, or none: told once, until there are enough again. */
export const CreditsDepleted = defineEvent<{ tenantId: number }>('billing.credits_depleted.v1');
