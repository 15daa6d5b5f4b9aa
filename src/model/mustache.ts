import Mustache from 'mustache'
import type { JsonObject, JsonValue } from '#model/json-value'
import { getOrInsert } from '#model/map-values'
import { utf8BytesOf } from '#model/text'

/**
 * The part of Mustache that templates may use: `{{name}}`, `{{#section}}`, `{{^inverted}}`, `{{/end}}` and `{{! comment
 * }}`. Tags that leave a value unescaped, include another text or change delimiters are refused. Contract 5.5.
 *
 * Only own properties are found: first by the whole name, then by its parts between dots, then in outer contexts. So no
 * template can reach or call anything outside the data.
 */

/** Maximum number of tags of one text. */
export const tagsMax = 1_000

/** Maximum nesting of sections. */
export const sectionDepthMax = 16

/** Maximum length of a tag, with braces. The time to find its end grows with the square of its white space. */
export const tagCharactersMax = 256

/**
 * Limits the steps of one rendering, because sections over nested lists multiply their work even without output. Each
 * text, tag and list element is a step, and so is each further context or part of a name that a lookup visits. A step
 * takes at most 0.2 µs.
 */
const stepsMax = 32_768

/** The cost of a context in which a name with dots is looked up: first the whole name, then its first part. */
const dottedSteps = 4

/** The result of the library's parser. */
export type MustacheTokens = ReturnType<typeof Mustache.parse>

/** A fault of a template, and its line, from 1. */
export interface MustacheFault {
  readonly line: number
  readonly message: string
}

/** The output or the work of a mail exceeds its limit. */
export class OutputTooLarge extends Error {
  override readonly name = 'OutputTooLarge'
}

const refusedTags: ReadonlyMap<string, string> = new Map([
  ['{', 'values cannot be left unescaped'],
  ['&', 'values cannot be left unescaped'],
  ['>', 'there are no partials'],
  ['=', 'tags cannot be changed'],
])

const faultMessage = /^(Un\w+ \w+(?: ".*")?) at (\d+)$/s

export function parseMustache(text: string): MustacheTokens | MustacheFault {
  const fault = tagFaultOf(text)
  if (fault) return fault
  try {
    // A writer keeps parsed templates as long as it exists, so each call makes a new one.
    return new Mustache.Writer().parse(text)
  } catch (error) {
    const [, message, at] = faultMessage.exec((error as Error).message) ?? []
    if (message === undefined) throw error
    return { line: lineOf(text, Number(at)), message: `${message.charAt(0).toLowerCase()}${message.slice(1)}` }
  }
}

export interface MustacheOptions {
  readonly escape: (text: string) => string
  /** The largest result, in UTF-8. */
  readonly bytesMax: number
}

/** @throws OutputTooLarge */
export function renderMustache(template: MustacheTokens, data: JsonObject, options: MustacheOptions): string {
  const steps = new Steps()
  // The library declares different types for the tokens it returns and the tokens it takes.
  return new BoundedWriter(options, steps).renderTokens(template as unknown as string[][], new OwnContext(data, steps))
}

/** Escapes for text and attributes of HTML, as Mustache does it. */
export const escapeHtml: (text: string) => string = Mustache.escape

/** Counts the work of one rendering. */
class Steps {
  #left = stepsMax

  /** @throws OutputTooLarge */
  spend(count: number): void {
    this.#left -= count
    if (this.#left < 0) throw new OutputTooLarge(`more than ${stepsMax} steps`)
  }
}

/** Throws as soon as the output or the work exceeds its limit. */
class BoundedWriter extends Mustache.Writer {
  readonly #escape: (text: string) => string
  readonly #steps: Steps
  #bytesLeft: number

  constructor(options: MustacheOptions, steps: Steps) {
    super()
    this.#steps = steps
    this.#escape = options.escape
    this.#bytesLeft = options.bytesMax
  }

  override renderTokens(tokens: string[][], context: Mustache.Context): string {
    this.#steps.spend(1 + tokens.length)
    return super.renderTokens(tokens, context)
  }

  override rawValue(token: string[]): string {
    return this.#spendBytes(super.rawValue(token))
  }

  override escapedValue([, name = '']: string[], context: Mustache.Context): string {
    const value: JsonValue | undefined = context.lookup(name)
    return value === undefined ? '' : this.#spendBytes(this.#escape(textOf(value, this.#steps)))
  }

  #spendBytes(text: string): string {
    this.#bytesLeft -= utf8BytesOf(text)
    if (this.#bytesLeft < 0) throw new OutputTooLarge('more bytes than allowed')
    return text
  }
}

/** The library's own class finds properties of prototypes, and calls functions. */
class OwnContext extends Mustache.Context {
  /** Caches the names of one rendering, split at their dots, because names repeat. */
  readonly #paths: Map<string, readonly string[]>
  readonly #steps: Steps

  constructor(view: JsonValue, steps: Steps, parent?: OwnContext) {
    super(view, parent)
    this.#steps = steps
    this.#paths = parent ? parent.#paths : new Map()
  }

  override push(view: JsonValue): OwnContext {
    return new OwnContext(view, this.#steps, this)
  }

  override lookup(name: string): JsonValue | undefined {
    if (name === '.') return this.view
    const path = this.#pathOf(name)
    for (let context: Mustache.Context | undefined = this; context; context = context.parent) {
      if (context !== this) this.#steps.spend(path.length === 0 ? 1 : dottedSteps)
      const found = foundIn(context.view, name, path, this.#steps)
      if (found !== undefined) return found
    }
    return undefined
  }

  #pathOf(name: string): readonly string[] {
    return getOrInsert(this.#paths, name, () => (name.indexOf('.') > 0 ? name.split('.') : []))
  }
}

/** `path`: the name split at its dots; empty if it has none. A name with the value null counts as found. */
function foundIn(view: JsonValue, name: string, path: readonly string[], steps: Steps): JsonValue | undefined {
  if (typeof view !== 'object' || view === null) return undefined
  const whole = ownOf(view, name)
  if (whole !== undefined || path.length === 0) return whole
  let value: JsonValue | undefined = view
  for (let at = 0; at < path.length && value !== undefined; at++) {
    if (at > 0) steps.spend(1)
    value = ownOf(value, path[at] as string)
  }
  return value
}

/** Reads only own properties. A text has an own property too: `length`. */
function ownOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (value === undefined || value === null || !Object.hasOwn(value as JsonObject, key)) return undefined
  return (value as JsonObject)[key]
}

/** As JavaScript writes it, but without calling a method of the value: an object may have its own `toString`. */
function textOf(value: JsonValue, steps: Steps): string {
  if (value === null) return ''
  if (typeof value !== 'object') return String(value)
  if (!Array.isArray(value)) return '[object Object]'
  steps.spend(value.length)
  return value.map((element) => textOf(element, steps)).join(',')
}

/**
 * Finds forbidden tags that the library would accept, or take long to refuse. It finds the same tags as the library, as
 * long as no tag changes the delimiters.
 */
function tagFaultOf(text: string): MustacheFault | undefined {
  let depth = 0
  let count = 0
  for (let open = text.indexOf('{{'); open >= 0; ) {
    const fault = (message: string) => ({ line: lineOf(text, open), message })
    const kind = /^\s*(\S?)/.exec(text.slice(open + 2, open + tagCharactersMax))?.[1] ?? ''
    const close = text.indexOf('}}', open + 2)
    const word = shortened(text.slice(open, close < 0 ? text.length : close + 2))
    const refusal = refusedTags.get(kind)
    if (refusal) return fault(`${word}: ${refusal}`)
    if (close < 0) return fault(`${word}: the tag has no end`)
    if (close + 2 - open > tagCharactersMax) return fault(`${word}: a tag has at most ${tagCharactersMax} characters`)
    if (++count > tagsMax) return fault(`${word}: there can be at most ${tagsMax} tags`)
    if (kind === '#' || kind === '^') depth++
    if (kind === '/') depth--
    if (depth > sectionDepthMax) return fault(`${word}: sections can be at most ${sectionDepthMax} inside each other`)
    open = text.indexOf('{{', close + 2)
  }
  return undefined
}

function shortened(word: string): string {
  return word.length > 40 ? `${word.slice(0, 40)}…` : word
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
