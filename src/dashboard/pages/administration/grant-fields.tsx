import { useState } from 'preact/hooks'
import { namesIn, namesText } from '#dashboard/pages/administration/grants'
import { PermissionMatrix } from '#dashboard/pages/administration/permission-matrix'
import { Button } from '#dashboard/parts/button'
import { Checkbox, Field, TextField } from '#dashboard/parts/fields'
import type { Grant } from '#model/scope'

interface GrantFieldsProps {
  readonly grant: Grant
  /** From 1. */
  readonly number: number
  readonly onChange?: ((grant: Grant) => void) | undefined
  readonly onRemove?: (() => void) | undefined
}

/** One grant: what it gives, and on which devices and services. Without `onChange` to be read. */
export function GrantFields({ grant, number, onChange, onRemove }: GrantFieldsProps) {
  const title = `Grant ${number}`
  return (
    <Field label={title}>
      <PermissionMatrix grant={grant} caption={`${title}: resources and actions`} onChange={onChange} />
      {onChange ? (
        <>
          <Names
            what="device"
            names={grant.devices}
            placeholder="LAMP-1, LAMP-2"
            onChange={(devices) => onChange({ ...grant, devices })}
          />
          <Names
            what="service"
            names={grant.services}
            placeholder="climate"
            onChange={(services) => onChange({ ...grant, services })}
          />
        </>
      ) : (
        <p>
          On {namesText(grant.devices, 'device')}, {namesText(grant.services, 'service')}.
        </p>
      )}
      {onRemove && (
        <Button kind="quiet" onPress={onRemove} label={`Remove grant ${number}`}>
          Remove this grant
        </Button>
      )}
    </Field>
  )
}

/** All of them, or those that are named. */
function Names({
  what,
  names,
  placeholder,
  onChange,
}: {
  readonly what: 'device' | 'service'
  readonly names: readonly string[]
  readonly placeholder: string
  readonly onChange: (names: string[]) => void
}) {
  const isAll = names.includes('*')
  // As it is typed: a comma at its end is the beginning of the next name.
  const [text, setText] = useState(isAll ? '' : names.join('\n'))
  return (
    <>
      <Checkbox label={`All ${what}s`} isChecked={isAll} onChange={(isOn) => onChange(isOn ? ['*'] : namesIn(text))} />
      {!isAll && (
        <TextField
          label={what === 'device' ? 'Devices' : 'Services'}
          hint="One a line, or with commas between. They need not be there yet."
          rows={3}
          isCode
          placeholder={placeholder}
          value={text}
          onInput={(typed) => {
            setText(typed)
            onChange(namesIn(typed))
          }}
        />
      )}
    </>
  )
}
