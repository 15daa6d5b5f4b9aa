import { noticeBus } from '#actors/notice-bus'
import { updateActor } from '#actors/update/update'

/** An update actor without active updates. The removal of a device sends to it. */
export const noopUpdates = updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 })
