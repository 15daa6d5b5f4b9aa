import { LateUpdateNotices } from '#actors/update/notices'
import { updateActor } from '#actors/update/update'

/** The actor of updates where none are under way: who removes a device tells it so. */
export const unheardUpdates = updateActor({ notices: new LateUpdateNotices(), offerTimeoutMs: 10_000 })
