import { defineEvent } from '#kernel';

/** All rows of an import have arrived. */
export const ImportQueued = defineEvent<{ importId: string }>('audience.import_queued.v1');
