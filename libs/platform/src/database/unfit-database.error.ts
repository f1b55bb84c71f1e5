/** What DATABASE_URL leads to is nothing that this version can work with; the message says what to do. */
export class UnfitDatabaseError extends Error {}
