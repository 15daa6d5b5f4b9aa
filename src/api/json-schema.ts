import { z } from 'zod'

/** A JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Whether the server receives or sends the data: a schema that transforms has two forms. */
type Side = 'input' | 'output'

/** An addition to zod's JSON Schema; a text is a description. A note with `type` or `anyOf` replaces the whole schema. */
export type SchemaNote = JsonSchema | string

export interface SchemaCollectionOptions {
  /** Schemas that are described once, under their names. */
  readonly named: ReadonlyMap<string, z.ZodType>
  /** The notes of schemas, with and without a name. */
  readonly notes: ReadonlyMap<z.ZodType, SchemaNote>
  /** OpenAPI 3.1 uses the newest, AsyncAPI 3.0 draft 7. */
  readonly target: 'draft-2020-12' | 'draft-07'
}

const places = { 'draft-2020-12': '#/$defs/', 'draft-07': '#/definitions/' } as const

const schemaPlace = '#/components/schemas/'

/** A reference to another schema from a note, before its name in the document is known. */
export function noteReference(name: string): JsonSchema {
  return { $ref: `${notePlace}${name}` }
}
const notePlace = '#/named/'

/**
 * The JSON Schemas of one document, from zod's. Named ones are written to `#/components/schemas/` and referenced
 * elsewhere. If the input of a schema differs from its output, both are written: `NameInput` and `Name`. Objects that
 * are not strict are open: answers may get more fields later.
 */
export class SchemaCollection {
  readonly #options: SchemaCollectionOptions
  readonly #registry = z.registry<{ id: string }>()
  readonly #bodies: Record<Side, Map<string, JsonSchema>> = { input: new Map(), output: new Map() }
  readonly #differing: ReadonlySet<string>
  readonly #used = new Map<string, JsonSchema>()

  constructor(options: SchemaCollectionOptions) {
    this.#options = options
    // A schema with two names gets the first.
    for (const [id, schema] of options.named) if (!this.#registry.has(schema)) this.#registry.add(schema, { id })
    for (const side of ['input', 'output'] as const) {
      for (const schema of options.named.values()) this.#convert(schema, side)
    }
    this.#differing = this.#findDiffering()
  }

  /** A schema of data that the server receives. */
  input(schema: z.ZodType): JsonSchema {
    return this.#withTargets(this.#convert(schema, 'input'), 'input')
  }

  /** A schema of data that the server sends. */
  output(schema: z.ZodType): JsonSchema {
    return this.#withTargets(this.#convert(schema, 'output'), 'output')
  }

  /** The document with all referenced schemas. A schema that is only received gets its name without `Input`. */
  complete<T extends { readonly components: object }>(document: T): T {
    const shownAs = (name: string) => {
      const plain = name.replace(/Input$/, '')
      return this.#used.has(plain) ? name : plain
    }
    const schemas = [...this.#used].map(([name, schema]) => [shownAs(name), schema] as const)
    schemas.sort(([one], [other]) => (one < other ? -1 : 1))
    const whole = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } }
    return mapReferences(whole, (name) => schemaPlace + shownAs(name))
  }

  /** Converts a schema. References stay as zod writes them; the referenced schemas are stored in `#bodies`. */
  #convert(schema: z.ZodType, side: Side): JsonSchema {
    // Wrapped in an object, because a named schema at the root would not be referenced by its name.
    const whole = z.toJSONSchema(z.object({ it: schema }), {
      io: side,
      target: this.#options.target,
      metadata: this.#registry,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) =>
        this.#amend(zodSchema as unknown as z.ZodType, jsonSchema as Record<string, unknown>),
    })
    const definitions = (whole.$defs ?? whole.definitions ?? {}) as Record<string, JsonSchema>
    for (const [name, body] of Object.entries(definitions)) this.#bodies[side].set(name, body)
    return (whole.properties as Record<string, JsonSchema>).it ?? {}
  }

  #amend(schema: z.ZodType, json: Record<string, unknown>): void {
    const { def } = schema._zod
    if (def.type === 'object' && !(def as z.core.$ZodObjectDef).catchall) delete json.additionalProperties
    // zod sets `readOnly` for values that the code does not change; a client may send them.
    delete json.readOnly
    if (JSON.stringify(json.propertyNames) === '{"type":"string"}') delete json.propertyNames
    // Every integer has this maximum, so it is noise.
    if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum
    if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum
    const found = this.#options.notes.get(schema)
    if (found === undefined) return
    const note = typeof found === 'string' ? { description: found } : found
    if ('type' in note || 'anyOf' in note) for (const keyword of Object.keys(json)) delete json[keyword]
    Object.assign(json, note)
  }

  /** Named schemas that differ between both sides, or refer to one that does. */
  #findDiffering(): ReadonlySet<string> {
    const { input, output } = this.#bodies
    const differing = new Set<string>()
    const isDiffering = (name: string) =>
      JSON.stringify(input.get(name)) !== JSON.stringify(output.get(name)) ||
      referencesIn(input.get(name)).some((other) => differing.has(other))
    let before = -1
    while (before < differing.size) {
      before = differing.size
      for (const name of input.keys()) if (isDiffering(name)) differing.add(name)
    }
    return differing
  }

  /** Replaces references by references into the document, and adds their targets there. */
  #withTargets(schema: JsonSchema, side: Side): JsonSchema {
    return mapReferences(schema, (name) => {
      const shown = side === 'input' && this.#differing.has(name) ? `${name}Input` : name
      const body = this.#bodies[side].get(name)
      if (!body) throw new Error(`a schema refers to the unknown schema ${name}`)
      if (!this.#used.has(shown)) {
        // Set before its own references are resolved, because they may be circular.
        this.#used.set(shown, {})
        this.#used.set(shown, this.#withTargets(body, side))
      }
      return schemaPlace + shown
    })
  }
}

function nameOf(reference: string): string | undefined {
  const place = [...Object.values(places), notePlace, schemaPlace].find((start) => reference.startsWith(start))
  return place && reference.slice(place.length)
}

function referencesIn(schema: unknown): string[] {
  const names: string[] = []
  mapReferences(schema, (name) => {
    names.push(name)
    return name
  })
  return names
}

/** A copy with replaced references by name. A property named `$ref` has an object as value, and stays unchanged. */
function mapReferences<T>(value: T, replace: (name: string) => string): T {
  if (Array.isArray(value)) return value.map((each) => mapReferences(each, replace)) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, each]) => {
    const name = key === '$ref' && typeof each === 'string' ? nameOf(each) : undefined
    return [key, name === undefined ? mapReferences(each, replace) : replace(name)]
  })
  return Object.fromEntries(entries) as T
}
