import Mustache from 'mustache'
import type { JsonObject } from '#model/json-value'

/** A text that came to be longer than anybody wants it. */
export class OutputTooLarge extends Error {
  constructor(charactersMax: number) {
    super(`more than ${charactersMax} characters`)
    this.name = 'OutputTooLarge'
  }
}

/**
 * A template with its data in it. `escape` is for every value that comes from the data.
 * @throws OutputTooLarge
 */
export function renderMustache(
  template: string,
  data: JsonObject,
  options: { readonly escape: (text: string) => string; readonly charactersMax: number },
): string {
  const text = Mustache.render(template, data, {}, { escape: (value: unknown) => options.escape(String(value)) })
  if (text.length > options.charactersMax) throw new OutputTooLarge(options.charactersMax)
  return text
}
