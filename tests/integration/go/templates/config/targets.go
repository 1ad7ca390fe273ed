// Package config has the targets of s3-proxy's templates.
package config

// TargetConfig is what templates may read of a target.
type TargetConfig struct {
	Name   string
	Bucket *BucketConfig
	Mount  *MountConfig
}

// BucketConfig is what templates may read of a target's bucket.
type BucketConfig struct {
	Name, Prefix, Region, S3Endpoint string
	S3ListMaxKeys                    int64
	DisableSSL                       bool
}

// MountConfig is what templates may read of a target's mount.
type MountConfig struct {
	Host string
	Path []string
}
