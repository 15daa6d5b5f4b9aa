import { modifierBits, modifierFlags } from '#model/modifier'
import type { Modifier } from '#model/property'

/** What a property is, whatever it stands at. */
export interface Declared {
  readonly propId: number
  readonly type: string
  /** Of the modifier, without `isError`. */
  readonly bits: number
}

/** The properties of a service in their order: the same for all devices of a kind, which share one of these. */
export class Layout {
  readonly properties: readonly Declared[]
  readonly placeOf: ReadonlyMap<number, number>

  constructor(properties: readonly Declared[]) {
    this.properties = properties
    this.placeOf = new Map(properties.map(({ propId }, place) => [propId, place]))
  }
}

/** A fleet has few kinds of devices. Beyond this many they are not looked for any more, and only cost memory. */
const layoutsMax = 10_000

/** Finds the layout that others have already. */
export class Layouts {
  readonly #known = new Map<string, Layout>()

  of(properties: readonly Declared[]): Layout {
    let key = ''
    for (const { propId, type, bits } of properties) key += `${propId} ${type} ${bits},`
    let layout = this.#known.get(key)
    if (!layout) {
      layout = new Layout(properties)
      if (this.#known.size >= layoutsMax) this.#known.clear()
      this.#known.set(key, layout)
    }
    return layout
  }
}

export function declaredBits(modifier: Modifier): number {
  return modifierBits(modifier) & ~modifierFlags.isError
}
