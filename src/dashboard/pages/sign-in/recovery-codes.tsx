import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { Button } from '#dashboard/parts/button'
import { Copy } from '#dashboard/parts/copy'

/** New recovery codes, shown once; the page shows nothing more until the user confirms them. */
export const freshCodes = signal<readonly string[] | undefined>(undefined)

export function RecoveryCodes({ codes }: { readonly codes: readonly string[] }) {
  const text = codes.join('\n')
  const file = useMemo(() => URL.createObjectURL(new Blob([`${text}\n`])), [text])
  useEffect(() => () => URL.revokeObjectURL(file), [file])
  return (
    <main class="sign-in" id="content">
      <div class="section">
        <div class="sign-in-step">
          <h1 tabIndex={-1}>Recovery codes</h1>
          <p>
            Each code replaces a lost second factor once. They are shown only now: print them, or keep them where you
            keep passwords. Codes of before are void.
          </p>
          <ul class="codes">
            {codes.map((code) => (
              <li key={code}>
                <code>{code}</code>
              </li>
            ))}
          </ul>
          <div class="actions">
            <Copy text={text} label="Copy all" />
            <a class="button" download="recovery-codes.txt" href={file}>
              Save as a file
            </a>
          </div>
          <Button
            kind="primary"
            onPress={() => {
              freshCodes.value = undefined
            }}
          >
            I have kept them
          </Button>
        </div>
      </div>
    </main>
  )
}
