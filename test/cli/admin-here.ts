import { PassThrough, Writable } from 'node:stream'
import { administer } from '#cli/command'
import { readSettings } from '#cli/settings'
import { TemporaryFiles } from '#cli/temporary-files'
import { type Ran, runAdmin } from '#test/cli/admin-run'

/** A command line in this process: the process itself matters in few tests. Only standard input, where there is any, needs one. */
export async function administerAt(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  input?: string,
): Promise<Ran> {
  if (input !== undefined) return runAdmin({ args, environment, input })
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
    temporaryFiles: new TemporaryFiles(),
  })
  return { code, ...said }
}
