import { type Lists, ListView, type ViewedEvent } from '#test/simulation/list-view'
import type { ReadSubscription } from '#test/simulation/simulated-subscribers'

type Row = ReadSubscription & { readonly deviceIdentifier: string }

/** A client's copy of its user's subscriptions: those of other users are neither listed nor sent. */
export class SubscriptionView extends ListView<Row> {
  readonly list = 'listSubscriptions'
  readonly resource = 'notifications'
  readonly #account: () => string
  #rows = new Map<string, string>()

  /** `account`: the resource name of the owner. */
  constructor(account: () => string) {
    super()
    this.#account = account
  }

  protected differences(rows: readonly Row[]): readonly string[] {
    const there = new Map(rows.filter(({ createdBy }) => createdBy === this.#account()).map(entryOf))
    const names = new Set([...this.#rows.keys(), ...there.keys()])
    return [...names]
      .filter((name) => this.#rows.get(name) !== there.get(name))
      .map((name) => `${name}: here ${this.#rows.get(name)}, there ${there.get(name)}`)
  }

  protected concerns(type: string): boolean {
    return type.startsWith('NOTIFICATION_')
  }

  protected take(rows: readonly Row[]): void {
    this.#rows = new Map(rows.map(entryOf))
  }

  protected apply({ type, resourceIdentifier, payload }: ViewedEvent): void {
    if (type === 'NOTIFICATION_UNSUBSCRIBE') this.#rows.delete(String(resourceIdentifier))
    else this.#rows.set(...entryOf(payload as Row))
  }
}

function entryOf({ resourceIdentifier, topic, locale, createdBy }: Row): [string, string] {
  return [resourceIdentifier, JSON.stringify({ topic, locale, createdBy })]
}

/** Has the interface of lists about devices. */
export function subscriptionRows(listed: readonly ReadSubscription[]): Lists[string] {
  return listed.map((row) => ({ ...row, deviceIdentifier: '' }))
}
