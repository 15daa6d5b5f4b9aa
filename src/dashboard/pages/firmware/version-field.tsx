import { useState } from 'preact/hooks'
import { versionProblem } from '#dashboard/pages/firmware/names'
import { Select, TextField } from '#dashboard/parts/fields'

interface VersionFieldProps {
  readonly label: string
  readonly hint: string
  /** Versions with a release. */
  readonly versions: readonly string[]
  readonly value: string
  readonly onChange: (version: string) => void
}

/** No version has this name. */
const another = ''

/** An existing version, or another one, which may get its release later. */
export function VersionField({ label, hint, versions, value, onChange }: VersionFieldProps) {
  const [isAnother, setAnother] = useState(!versions.includes(value))
  const options = [
    ...versions.map((version) => ({ value: version, label: version })),
    { value: another, label: 'another version…' },
  ]
  return (
    <>
      {versions.length > 0 && (
        <Select
          label={label}
          hint={isAnother ? undefined : hint}
          value={isAnother ? another : value}
          options={options}
          onChange={(version) => {
            setAnother(version === another)
            onChange(version)
          }}
        />
      )}
      {isAnother && (
        <TextField
          label={versions.length > 0 ? 'Version' : label}
          hint="For example 1.2.3. The release need not exist yet."
          problem={versionProblem(value)}
          isCode
          value={value}
          onInput={onChange}
          isRequired
        />
      )}
    </>
  )
}
