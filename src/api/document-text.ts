/** The text of a generated document: indented, so that changes are readable in a diff. */
export function documentText(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
