/** Why the data folder is worked on, and no server asked. */
export function unheardAt(base: string | undefined): string {
  return base === undefined ? 'PORT is 0, so a running server was not looked for' : `nothing answers at ${base}`
}
