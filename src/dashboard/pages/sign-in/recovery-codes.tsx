import { useEffect, useMemo } from 'preact/hooks'
import { Button } from '#dashboard/components/button'
import { CopyButton } from '#dashboard/components/copy-button'
import { observable } from '#dashboard/components/use-observable'

/** New recovery codes, shown once; the page shows nothing more until the user confirms them. */
export const newRecoveryCodes = observable<readonly string[] | undefined>(undefined)

/** Shows the codes of this answer, before a session begins that would hide them. */
export async function showRecoveryCodes(
  answer: Promise<{ readonly recoveryCodes?: readonly string[] | undefined }>,
): Promise<void> {
  const { recoveryCodes } = await answer
  if (recoveryCodes && recoveryCodes.length > 0) newRecoveryCodes.set(recoveryCodes)
}

export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = useMemo(() => URL.createObjectURL(new Blob([`${text}\n`])), [text])
  useEffect(() => () => URL.revokeObjectURL(file), [file])
  return (
    <main class="sign-in" id="content">
      <div class="section">
        <div class="stack">
          <h1 tabIndex={-1}>Recovery codes</h1>
          <p>
            Each code replaces a lost second factor once. They are shown only once: print them, or store them in your
            password manager. Earlier codes are no longer valid.
          </p>
          <ul class="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ul>
          <div class="actions">
            <CopyButton text={text} label="Copy all" />
            <a class="button" download="recovery-codes.txt" href={file}>
              Download
            </a>
          </div>
          <Button kind="primary" onPress={() => newRecoveryCodes.set(undefined)}>
            I have saved them
          </Button>
        </div>
      </div>
    </main>
  )
}
