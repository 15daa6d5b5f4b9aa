import { createHash } from 'node:crypto'
import { propertyTypeOf } from '#model/property-type'
import { contentOf, type Shape, type ShapeContent, type ShapeProperty, shapeOf } from '#model/shape'
import { StorageFailure } from '#runtime/storage'
import { keys } from '#store/key-space'
import { unpackRecord } from '#store/record-codec'

export const shapeFormat = { name: 'shape', version: 1, upgrades: {} }

/**
 * The limit of properties of the shapes that this cache holds: some tens of megabytes. The shapes used longest ago are
 * dropped, because one device could declare ever new shapes; they are read again when needed. Shapes that an active
 * device uses stay in memory anyway.
 */
const propertiesMax = 250_000
/** 96 bits of SHA-256: two contents never have the same id by chance. */
const idBytes = 12

/**
 * Finds shapes by content and by id. The id of a shape is the hash of its content, so making a shape needs no turn and
 * no counter. A shape is stored with its first declaration.
 */
export class Shapes {
  readonly #get: (key: string) => Uint8Array | undefined
  readonly #known = new Map<string, Shape>()
  /** Shapes made since the last sweep that were not in memory: at least as many as were stored since. */
  newCount = 0
  /**
   * While a sweep runs: the ids of shapes that the sweep found in use, or that were stored, or named by an entry, since
   * it began.
   */
  named: Set<string> | undefined
  #properties = 0
  /** The last shape returned. It is often the next one requested too, because devices of a kind follow each other. */
  #last: Shape | undefined

  constructor(get: (key: string) => Uint8Array | undefined) {
    this.#get = get
  }

  readonly intern = (serviceIdentifier: string, properties: readonly ShapeProperty[]): Shape => {
    const content = JSON.stringify(contentOf(serviceIdentifier, properties))
    const id = createHash('sha256').update(content).digest().subarray(0, idBytes).toString('base64url')
    const known = this.#known.get(id)
    if (!known) this.newCount++
    return this.#keep(known ?? shapeOf(id, serviceIdentifier, properties))
  }

  /** @throws StorageFailure `damaged` if the shape is not stored, or names an unknown type */
  byId(id: string): Shape {
    if (this.#last?.id === id) return this.#last
    const known = this.#known.get(id)
    if (known) return this.#keep(known)
    const bytes = this.#get(keys.shape(id))
    if (!bytes) throw new StorageFailure('damaged', `shape ${id} is named by an entry and not stored`)
    const [serviceIdentifier, properties] = unpackRecord(shapeFormat, bytes) as ShapeContent
    const shape = shapeOf(
      id,
      serviceIdentifier,
      properties.map(([propId, name, modifier]) => {
        const type = propertyTypeOf(name)
        if (!type) throw new StorageFailure('damaged', `shape ${id} names an unknown type`)
        return { propId, type, modifier }
      }),
    )
    return this.#keep(shape)
  }

  /** Makes this the most recently used shape, and drops those used longest ago above `propertiesMax`. */
  #keep(shape: Shape): Shape {
    if (this.#known.delete(shape.id)) this.#properties -= shape.properties.length
    this.#known.set(shape.id, shape)
    this.#properties += shape.properties.length
    for (const [id, oldest] of this.#known) {
      if (this.#properties <= propertiesMax || oldest === shape) break
      this.#known.delete(id)
      this.#properties -= oldest.properties.length
    }
    this.#last = shape
    return shape
  }
}
