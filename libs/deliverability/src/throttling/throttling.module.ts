import { Module } from '@nestjs/common';
import { DestinationBudgets } from './destination-budgets.query.js';
import { RemoveOldThrottling } from './remove-old-throttling.task.js';
import { WarmUpPlaces } from './warm-up-places.query.js';

/** How fast mail may go where. */
@Module({
  providers: [DestinationBudgets, RemoveOldThrottling, WarmUpPlaces],
  exports: [DestinationBudgets, RemoveOldThrottling, WarmUpPlaces],
})
export class ThrottlingModule {}
