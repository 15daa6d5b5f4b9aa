import { type AudienceClass, type EventFilter, isHeard, keyOf } from '#events/audience'
import type { EventType } from '#model/event'
import type { Scope } from '#model/scope'

/** A class of one user's own sockets. */
export interface PersonalClass extends AudienceClass {
  /** CRN of the user, or of the API key that acts as one. */
  readonly user: string
}

/**
 * Who hears what concerns one user alone: that user's own sockets, whoever else may read the same. Every socket is in one
 * of these classes beside the one that it shares with all of its access, for what is published there reaches them all.
 * §3.1, contract 4.
 */
export class PersonalAudiences {
  readonly #prefix: string
  /** By user, then by access and filter. */
  readonly #byUser = new Map<string, Map<string, PersonalClass>>()
  #nextTopic = 0

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Users with a socket. */
  get size(): number {
    return this.#byUser.size
  }

  /** The user's class of this access and filter, with one more socket. */
  join(user: string, access: string, scope: Scope, filter: EventFilter): PersonalClass {
    let classes = this.#byUser.get(user)
    if (!classes) {
      classes = new Map()
      this.#byUser.set(user, classes)
    }
    const key = keyOf(access, filter)
    let audience = classes.get(key)
    if (!audience) {
      audience = { topic: `${this.#prefix}/${++this.#nextTopic}`, key, user, access, filter, scope, sockets: 0 }
      classes.set(key, audience)
    }
    audience.sockets++
    return audience
  }

  leave(audience: PersonalClass): void {
    if (--audience.sockets > 0) return
    const classes = this.#byUser.get(audience.user)
    classes?.delete(audience.key)
    if (classes?.size === 0) this.#byUser.delete(audience.user)
  }

  /** These accesses reach something else from now on. */
  redefine(changed: ReadonlyMap<string, Scope>): void {
    for (const classes of this.#byUser.values()) {
      for (const audience of classes.values()) audience.scope = changed.get(audience.access) ?? audience.scope
    }
  }

  /** The user's classes that hear an event of this type, each once. */
  hearers(user: string, type: EventType): readonly PersonalClass[] {
    const classes = this.#byUser.get(user)
    return classes ? [...classes.values()].filter((audience) => isHeard(audience, type)) : []
  }
}
