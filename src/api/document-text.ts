/** A document as it is checked in: so that what changes can be read. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
