import { noticeBus } from '#actors/notice-bus'
import { updateActor } from '#actors/update/update'

/** The actor of updates where none are under way: who removes a device tells it so. */
export const unheardUpdates = updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 })
