import { PassThrough, Writable } from 'node:stream'
import { administer } from '#cli/command'
import { Leftovers } from '#cli/leftovers'
import { readSettings } from '#cli/settings'
import type { Ran } from '#test/cli/admin-run'

/** What was typed, done in this process: for many lines, of each of which not the process is what matters. */
export async function administerHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ran> {
  const said = { out: '', notes: '' }
  const keeping = (where: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        said[where] += text
        done()
      },
    })
  const code = await administer(args, readSettings(environment, ''), {
    input: new PassThrough(),
    out: keeping('out'),
    notes: keeping('notes'),
    leftovers: new Leftovers(),
  })
  return { code, ...said }
}
