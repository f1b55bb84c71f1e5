import { defineEvent } from '#kernel';

/** All rows of an import are stored. */
export const ImportQueued = defineEvent<{ importId: string }>('audience.import_queued.v1');
