import type { DeliveryNotices, TopicNotices } from '#actors/delivery/notices'
import type { IdentityNotices } from '#actors/notices'
import type { ProjectNotices } from '#actors/project/notices'
import type { RuleNotices } from '#actors/rule-notices'
import type { SubscriberNotices } from '#actors/subscriber/notices'
import type { UpdateNotices } from '#actors/update/notices'

/** Everything that actors publish after a commit. */
interface Notices
  extends IdentityNotices,
    RuleNotices,
    TopicNotices,
    SubscriberNotices,
    DeliveryNotices,
    UpdateNotices,
    ProjectNotices {}

/** A component that listens to some of the notices: a method by the name of each. */
export type NoticeListener = Partial<Notices>

const names: Readonly<Record<keyof Notices, true>> = {
  sessionEnded: true,
  rolesChanged: true,
  userChanged: true,
  tenantChanged: true,
  keyEnded: true,
  signingKeysChanged: true,
  signingKeyIsOld: true,
  alarmChanged: true,
  groupChanged: true,
  schemaChanged: true,
  functionChanged: true,
  templateChanged: true,
  topicEnded: true,
  subscribed: true,
  unsubscribed: true,
  requested: true,
  updateMoved: true,
  updateCheckWanted: true,
  updateOfferWanted: true,
  triggerSettled: true,
  updateRetryDue: true,
  nextUpdateWanted: true,
  releasesChanged: true,
  scanRequested: true,
  rolloutChanged: true,
}

/**
 * Carries notices from actors to the components that are made after them. A notice reaches its listeners in the order in
 * which they were added; without a listener it is lost, and the component reads the store when it opens.
 */
export interface NoticeBus extends Notices {
  /** `isListening`: a notice that comes while this is false is not passed on. Default: always true. */
  listen(listener: NoticeListener, isListening?: () => boolean): void
}

export function noticeBus(...listeners: readonly NoticeListener[]): NoticeBus {
  const always = (): boolean => true
  const added = listeners.map((listener) => ({ listener, isListening: always }))
  const send =
    (name: keyof Notices) =>
    (...notice: unknown[]): void => {
      for (const { listener, isListening } of added) {
        const handle = listener[name] as ((...notice: unknown[]) => void) | undefined
        if (handle && isListening()) handle.apply(listener, notice)
      }
    }
  const relays = Object.fromEntries(Object.keys(names).map((name) => [name, send(name as keyof Notices)]))
  return {
    ...(relays as unknown as Notices),
    listen(listener, isListening = always) {
      added.push({ listener, isListening })
    },
  }
}
