import type { UpdateOptions } from '#firmware/options'
import type { Trigger } from '#model/firmware'

/**
 * Whether something that begins updates is meant for a device. Contract 6, Options. A device that refuses to be updated
 * by itself is updated by `POST` alone, also when it is held at a version.
 *
 * `isPinned`: what it would be updated to is what it is held at. Who does not know yet asks with true: that is never less.
 */
export function isMeant(trigger: Trigger, options: UpdateOptions, isAutoUpdated: boolean, isPinned: boolean): boolean {
  return trigger === 'post' || (isAutoUpdated && automatic[trigger](options, isPinned))
}

const automatic: Readonly<Record<Exclude<Trigger, 'post'>, (options: UpdateOptions, isPinned: boolean) => boolean>> = {
  connect: ({ isConnectUpdateDisabled }) => !isConnectUpdateDisabled,
  cron: () => true,
  hook: ({ isHookForPinsOnly }, isPinned) => isPinned || !isHookForPinsOnly,
}
