/** Why a campaign's recipients cannot be written down, in words for its author. */
export class CampaignCannotGoOnError extends Error {
  override readonly name = 'CampaignCannotGoOnError';

  /** `mayPass`: trying again later is not in vain. */
  constructor(
    message: string,
    readonly mayPass: boolean,
  ) {
    super(message);
  }
}
