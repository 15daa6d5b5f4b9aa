import type { Publication } from '#mqtt/publish-packet'
import { PacketFault, protocolError, reasons } from '#mqtt/reason-codes'

/** Topics that a client names by a number. MQTT 5.0 §3.3.2.3.4. */
export class TopicAliases {
  readonly #highest: number
  #topics: Map<number, string> | undefined

  constructor(highest: number) {
    this.#highest = highest
  }

  /** @throws PacketFault */
  topicOf({ topic, properties }: Pick<Publication, 'topic' | 'properties'>): string {
    const alias = properties?.topicAlias
    if (alias === undefined) return topic
    if (alias === 0 || alias > this.#highest) throw new PacketFault(reasons.topicAliasInvalid, `alias ${alias}`)
    this.#topics ??= new Map()
    if (topic !== '') this.#topics.set(alias, topic)
    const known = this.#topics.get(alias)
    if (known === undefined) throw protocolError(`alias ${alias} has no topic`)
    return known
  }
}
