import { useState } from 'preact/hooks'
import type { DeviceView } from '#client/client'
import { DialogButton } from '#dashboard/components/dialog'
import { TextField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Section } from '#dashboard/components/page'
import { notify } from '#dashboard/components/toasts'
import { containsNull, mergePatchOf } from '#dashboard/pages/device/merge-patch'
import { client, mayUser } from '#dashboard/session'

interface MetaSectionProps {
  readonly identifier: string
  readonly meta: DeviceView['meta']
}

/** Metadata of the device; edited as a whole, sent as a patch. §2.5 */
export function MetaSection({ identifier, meta }: MetaSectionProps) {
  const entries = Object.entries(meta)
  return (
    <Section
      title="Metadata"
      actions={
        mayUser('meta', 'update', { deviceIdentifier: identifier }) && (
          <DialogButton button="Change…" title={`Metadata of ${identifier}`}>
            {(close) => <MetaForm identifier={identifier} meta={meta} onClose={close} />}
          </DialogButton>
        )
      }
    >
      {entries.length === 0 ? (
        <p class="soft">No metadata, such as location or owner.</p>
      ) : (
        <dl class="facts">
          {entries.map(([key, value]) => (
            <>
              <dt key={`${key} name`}>{key}</dt>
              <dd key={key}>{metaText(value)}</dd>
            </>
          ))}
        </dl>
      )}
    </Section>
  )
}

/** `a, b` for a list, and `lat: 47.4, lon: 8.5` for an object. */
function metaText(value: unknown): string {
  if (Array.isArray(value)) return value.map(metaText).join(', ')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([key, each]) => `${key}: ${metaText(each)}`)
    .join(', ')
}

function MetaForm({ identifier, meta, onClose }: MetaSectionProps & { readonly onClose: () => void }) {
  // The patch is made from the metadata at the time the form was opened, so that changes by other users stay.
  const [before] = useState(meta)
  const [text, setText] = useState(() => JSON.stringify(meta, null, 2))
  const [fault, setFault] = useState<string | undefined>()
  const save = async () => {
    const after = parseMetadata(text)
    if (typeof after === 'string') {
      setFault(after)
      return
    }
    const patch = mergePatchOf(before, after)
    if (patch) {
      await client.call('PATCH /meta/:deviceIdentifier', {
        parameters: { deviceIdentifier: identifier },
        body: patch as Record<string, never>,
      })
      notify(`The metadata of ${identifier} was changed`)
    }
    onClose()
  }
  return (
    <Form submit="Save" onCancel={onClose} onSubmit={save} isUnsaved="touched">
      <TextField
        label="Metadata as JSON"
        hint='For example {"location": "Hall 3", "owner": "Ann"}'
        value={text}
        onInput={(next) => {
          setText(next)
          setFault(undefined)
        }}
        problem={fault}
        rows={12}
        isCode
        hasFocus
      />
    </Form>
  )
}

/** The object, or a description of the fault. */
function parseMetadata(text: string): Record<string, unknown> | string {
  let value: unknown
  try {
    value = JSON.parse(text.trim() || '{}')
  } catch (fault) {
    return `Invalid JSON: ${(fault as Error).message}`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'Must be an object: { … }.'
  return containsNull(value) ? 'null cannot be stored: remove the key.' : (value as Record<string, unknown>)
}
