/** Why a campaign's recipients cannot be queued, in words for its author. */
export class CampaignExpansionError extends Error {
  override readonly name = 'CampaignExpansionError';

  /** `mayPass`: trying again later is not in vain. */
  constructor(
    message: string,
    readonly mayPass: boolean,
  ) {
    super(message);
  }
}
