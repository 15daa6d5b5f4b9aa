import { PassThrough, Writable } from 'node:stream'
import { runCommandLine } from '#cli/command'
import { readSettings } from '#cli/settings'
import { TemporaryFiles } from '#cli/temporary-files'
import { type AdminResult, runAdmin } from '#test/cli/admin-process'

/** Runs the command in this process, or in its own process if it needs standard input. */
export async function administerAt(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
  input?: string,
): Promise<AdminResult> {
  if (input !== undefined) return runAdmin({ args, environment, input })
  const output = { out: '', notes: '' }
  const writerTo = (stream: keyof typeof output) =>
    new Writable({
      decodeStrings: false,
      write(text, _encoding, done) {
        output[stream] += text
        done()
      },
    })
  const code = await runCommandLine(args, readSettings(environment, ''), {
    input: new PassThrough(),
    out: writerTo('out'),
    notes: writerTo('notes'),
    temporaryFiles: new TemporaryFiles(),
  })
  return { code, ...output }
}
