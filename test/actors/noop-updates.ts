import { noticeBus } from '#actors/notice-bus'
import { updateActor } from '#actors/update/update'

/** An update actor without active updates. It receives the message that the removal of a device sends. */
export const noopUpdates = updateActor({ notices: noticeBus(), offerTimeoutMs: 10_000 })
