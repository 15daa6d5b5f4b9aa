import { eventKinds } from '#model/event'
import { isPermitted, type Scope } from '#model/scope'

const eventResources = [...new Set(Object.values(eventKinds).map(({ resource }) => resource))]

/** Whether there is any event at all that this scope lets be heard. Contract 4.8. */
export function readsEvents(scope: Scope): boolean {
  return eventResources.some((resource) => isPermitted(scope, resource, 'read'))
}
